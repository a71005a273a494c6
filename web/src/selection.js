// Selected rows of a list: the checkbox for all rows, and the number in the bar of actions.
import { $ } from "./dom.js";

const boxes = (form) => [...form.querySelectorAll(':is(tbody, .gallery, .submissions) [type="checkbox"]')];

document.addEventListener("change", ({ target }) => {
  const form = target.closest?.("form");
  if (!form || !target.matches('[type="checkbox"]')) return;
  const allMatching = $("[data-all-matching]", form);
  if (target.matches("[data-all], [data-all-matching]")) for (const box of boxes(form)) box.checked = target.checked;
  const areAll = boxes(form).every((box) => box.checked);
  for (const all of form.querySelectorAll("[data-all]")) all.checked = areAll;
  if (allMatching && !target.checked) allMatching.checked = false;
  showSelection(form);
});

// Enter on a checkbox would submit the form without an action.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches?.('#rows [type="checkbox"]')) event.preventDefault();
});

/** Shows how many rows are selected, also those of other pages. */
export function showSelection(form) {
  const label = $("[data-selected]", form);
  if (!label) return;
  const selected = boxes(form).filter((box) => box.checked).length;
  const allMatching = $("[data-all-matching]", form);
  const count = allMatching?.checked ? Number(allMatching.dataset.allMatching) : selected;
  label.textContent = label.dataset.selected.replace(
    "{count}",
    count.toLocaleString("en").replaceAll(",", document.documentElement.dataset.thousands),
  );
}

// Browsers restore checkboxes after scripts were loaded.
addEventListener("pageshow", () => {
  const form = $("#rows");
  if (form) showSelection(form);
});
