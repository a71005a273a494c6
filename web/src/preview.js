// Shows the page being edited as visitors will see it. Each preview loads in a new frame, so that "Back" leaves the
// page at once; the old frame stays until the new one has loaded.
let frameCount = 0;

function loadPreview(form) {
  const button = form.querySelector("[data-now]");
  const oldFrame = document.querySelector(".preview-frames iframe:not(.loading)");
  document.querySelector(".preview-frames iframe.loading")?.remove();
  const frame = oldFrame.cloneNode();
  frame.name = `preview-${(frameCount += 1)}`;
  frame.removeAttribute("src");
  frame.classList.add("loading");
  oldFrame.after(frame);
  frame.addEventListener("load", () => {
    if (isBlank(frame)) return;
    oldFrame.remove();
    frame.classList.remove("loading");
  });
  button.formTarget = frame.name;
  form.requestSubmit(button);
}

/** Returns true if nothing was loaded into a frame yet; a loaded preview is sandboxed and cannot be read. */
function isBlank(frame) {
  try {
    return frame.contentWindow.location.href === "about:blank";
  } catch {
    return false;
  }
}

const form = document.querySelector("form[data-previewed]");
if (form) {
  let timer;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => loadPreview(form), 300);
  });
  if (!document.querySelector(".preview-frames iframe[src]")) loadPreview(form);
}
