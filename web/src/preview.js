// Shows what is being edited as visitors will see it. Each time in a new frame, so that "Back" leaves the page at once,
// and the old one stays until the new one is there.
let count = 0;

function draw(form) {
  const now = form.querySelector("[data-now]");
  const old = document.querySelector(".frames iframe:not(.coming)");
  document.querySelector(".frames iframe.coming")?.remove();
  const next = old.cloneNode();
  next.name = `preview-${(count += 1)}`;
  next.classList.add("coming");
  old.after(next);
  next.addEventListener("load", () => {
    if (isEmpty(next)) return;
    old.remove();
    next.classList.remove("coming");
  });
  now.formTarget = next.name;
  form.requestSubmit(now);
}

/** Whether nothing was loaded into a frame yet: a preview is fenced off even from us. */
function isEmpty(frame) {
  try {
    return frame.contentWindow.location.href === "about:blank";
  } catch {
    return false;
  }
}

const form = document.querySelector("form[data-previewed]");
if (form) {
  let wait;
  form.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => draw(form), 300);
  });
  draw(form);
}
