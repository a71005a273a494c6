// The preview of a bio page: it shows the form as it is, and follows the block that is edited.
const DELAY = 250; // milliseconds
const EDITED = ".edited { outline: 3px solid var(--mark); outline-offset: 4px; }";
/** The element of each block on the page, in the order of the blocks. */
const BLOCKS = "main > ul > li, main > h2, main > .text, main > figure, main > .card, main > .embed, main > .form";

/** Updates the frame after each change of the form, and shows the block of the list that has the focus. */
export function connectPreview(form, list) {
  const frame = document.querySelector("iframe[name=phone]");
  let timer = 0;
  let pendingRequest = null;

  /** Scrolls the frame to the element of the block that has the focus, and marks it. */
  function follow() {
    const page = frame.contentDocument;
    if (!page?.body) return;
    page.querySelector(".edited")?.classList.remove("edited");
    const block = document.activeElement?.closest("[data-block]");
    const shown = (page.body.dataset.blocks ?? "").split(" ");
    const place = block ? shown.indexOf(String([...list.children].indexOf(block))) : -1;
    const element = page.querySelectorAll(BLOCKS)[place];
    if (!element) return;
    element.classList.add("edited");
    // scrollIntoView would scroll this page too, under the pointer.
    const { top, height } = element.getBoundingClientRect();
    frame.contentWindow.scrollBy(0, top - Math.max(0, (frame.contentWindow.innerHeight - height) / 2));
  }

  /** Replaces the content of the frame. Its policy forbids inline styles, so they become an adopted style sheet. */
  async function update() {
    pendingRequest?.abort();
    pendingRequest = new AbortController();
    try {
      const fields = [...new FormData(form)].filter(([, value]) => typeof value === "string");
      const response = await fetch("/dashboard/bios/phone", {
        method: "POST",
        body: new URLSearchParams(fields),
        signal: pendingRequest.signal,
      });
      if (!response.ok || response.redirected) return; // redirected to the sign-in page
      const [before, style, after] = (await response.text()).split(/<style>|<\/style>/);
      const page = new DOMParser().parseFromString(before + after, "text/html");
      const frameDocument = frame.contentDocument;
      const sheet = new frame.contentWindow.CSSStyleSheet();
      sheet.replaceSync(style + EDITED);
      const top = frame.contentWindow.scrollY;
      frameDocument.querySelector("style")?.remove();
      frameDocument.adoptedStyleSheets = [sheet];
      frameDocument.body.replaceWith(frameDocument.adoptNode(page.body));
      frame.contentWindow.scrollTo(0, top);
      follow();
    } catch {
      // Aborted by a newer request or by leaving the page: the frame stays unchanged.
    }
  }

  for (const type of ["input", "change"]) {
    form.addEventListener(type, () => {
      clearTimeout(timer);
      timer = setTimeout(update, DELAY);
    });
  }
  list.addEventListener("focusin", follow);
  // The first page of the frame can load after the first change.
  frame.addEventListener("load", () => {
    if (pendingRequest) update();
  });
  // A form that was not saved differs from the stored page.
  if (form.querySelector("[data-summary], [aria-invalid=true]")) update();
}
