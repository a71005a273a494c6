// The weights of a rotator: their shares move while one types, and only a weighted rotation uses them.
import { $ } from "./dom.js";
import { locale } from "./locale.js";

const TABLE = ".rotator-links";
const percent = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 0 });
const fields = () => [...document.querySelectorAll(`${TABLE} input[name="place.weight"]:not([type=hidden])`)];

/** Returns the number of a field; 1, the default, for an empty one and 0 for an invalid one. */
const weightOf = ({ value }) => (/^\d{0,4}$/.test(value.trim()) ? Number(value.trim() || 1) : 0);

function showShares(isWeighted) {
  const total = fields().reduce((sum, field) => sum + weightOf(field), 0);
  for (const field of fields()) {
    const share = field.closest("td").querySelector("[data-weight-share]");
    if (share) share.textContent = isWeighted && total ? percent.format(weightOf(field) / total) : "";
  }
}

/** Enables or disables the weights. A hidden field is sent instead of a disabled one. */
function enable(isWeighted) {
  for (const field of fields()) {
    const kept = $('[type=hidden][name="place.weight"]', field.closest("tr"));
    field.disabled = !isWeighted;
    kept.disabled = isWeighted;
    kept.value = field.value;
  }
}

document.addEventListener("input", ({ target }) => {
  const rotation = $("#rotation");
  if (!rotation || !$(TABLE) || !target.closest("#rows")) return;
  const isWeighted = rotation.value === "weighted";
  if (target === rotation) enable(isWeighted);
  showShares(isWeighted);
});
