/** A word at the foot of the page, read out too. */
export function tell(words) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.textContent = words;
  document.querySelector(".toasts")?.append(toast);
  setTimeout(() => toast.remove(), 2500);
}
