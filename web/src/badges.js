// The badges of the sections of an editor: they tell the values of the fields while these are edited.
import { $ } from "./dom.js";
import { comma, formatDay } from "./locale.js";

const isFilled = (field) => (field.type === "checkbox" ? field.checked : Boolean(field.value.trim()));

/** Returns the text of a field; that of the selected option for a select. */
function textOf(field, texts) {
  const value = field.value.trim();
  if (texts) return texts[value.replace(/^\d+$/, "splash").replace(/-\d+$/, "")] ?? "";
  return field.tagName === "SELECT" && value ? field.selectedOptions[0].text : value;
}

function numbered({ texts }, count) {
  if (!count) return "";
  const { lang, dataset } = document.documentElement;
  const form = JSON.parse(texts)[new Intl.PluralRules(lang).select(count)];
  return form.replace("{count}", count.toLocaleString("en").replaceAll(",", dataset.thousands));
}

const RULES = {
  list: (fields, { texts }) =>
    fields
      .map((field) => textOf(field, texts && JSON.parse(texts)))
      .filter(Boolean)
      .join(comma),
  count: (fields, data) => numbered(data, fields.filter(isFilled).length),
  number: ([field], data) => numbered(data, /^\d{1,15}$/.test(field.value.trim()) ? Number(field.value) : 0),
  day: ([field]) => (field.value ? formatDay.format(new Date(field.value)) : ""),
  filled(fields, { one, stored }) {
    const isStored = stored && !$(`form.editor ${stored}`)?.checked;
    return fields.some(isFilled) || isStored ? one : "";
  },
};

function show(badge) {
  const { badge: rule, of, length, ...data } = badge.dataset;
  const fields = [...badge.closest("details").querySelectorAll(of)].filter((field) => field.type !== "hidden");
  const text = RULES[rule](fields, data);
  badge.textContent = text.length > Number(length) ? `${text.slice(0, length - 1)}…` : text;
  badge.hidden = !text;
}

document.addEventListener("input", ({ target }) => {
  if (!target.closest?.("form.editor")) return;
  for (const badge of document.querySelectorAll("form.editor [data-badge]")) show(badge);
});
