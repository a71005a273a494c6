// Names of campaigns and channels that contain a text: an account can have more than the editor of a link lists.
import { $ } from "./dom.js";

const DELAY = 200; // milliseconds

/** Returns names of a kind of groups, "campaign" or "channel"; none if the request fails. */
export async function findNames(kind, text) {
  const query = new URLSearchParams({ kind, q: text });
  const response = await fetch(`/dashboard/links/names.json?${query}`).catch(() => null);
  return response?.ok ? response.json() : [];
}

const field = $("[data-names]");
let timer = 0;
field?.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const text = field.value;
    const names = await findNames(field.dataset.names, text);
    if (text !== field.value) return;
    field.list.replaceChildren(...names.map((value) => Object.assign(document.createElement("option"), { value })));
  }, DELAY);
});
