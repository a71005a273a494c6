// The channels of a link as one field: typing finds a channel or creates one. Without scripts, there are checkboxes and
// a field for the names of new channels.
import { $ } from "./dom.js";
import { findNames } from "./names.js";

const MAX_OPTIONS = 8;

function enhance(picker) {
  const input = $("#newchannel", picker);
  const list = $("[role=listbox]", picker);
  const group = $(".checkbox-group", picker);
  const sent = Object.assign(document.createElement("input"), { type: "hidden", name: "newchannel" });
  const typed = input.value;
  let active = -1;
  let others = []; // names of channels that have no checkbox

  const created = () => [...group.querySelectorAll("[data-created]:checked")].map((box) => box.dataset.created);
  const labels = () => [...group.querySelectorAll("label")];
  const nameOf = (label) => label.textContent.trim();
  const say = (name) =>
    ($("[data-picker-status]", picker).textContent = input.dataset.addedText.replace("{name}", name));

  function update() {
    sent.value = created().join(",");
    sent.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function close() {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function add(name) {
    const label = labels().find((each) => nameOf(each).toLowerCase() === name.toLowerCase());
    if (label) $("input", label).checked = true;
    else {
      const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
      box.dataset.created = name;
      const added = document.createElement("label");
      added.append(box, name);
      group.append(added);
    }
    input.value = "";
    say(name);
    close();
    update();
  }

  function option(text, name, index) {
    const element = Object.assign(document.createElement("div"), {
      textContent: text,
      id: `newchannel-option-${index}`,
    });
    element.setAttribute("role", "option");
    element.dataset.name = name;
    element.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      add(name);
    });
    return element;
  }

  function show() {
    const query = input.value.trim();
    const known = labels().filter((label) => !$("input", label).checked);
    const matches = known.map(nameOf).filter((name) => name.toLowerCase().includes(query.toLowerCase()));
    const listed = new Set(labels().map((label) => nameOf(label).toLowerCase()));
    const unlisted = others.filter(
      (name) => !listed.has(name.toLowerCase()) && name.toLowerCase().includes(query.toLowerCase()),
    );
    const names = [...matches, ...unlisted].slice(0, MAX_OPTIONS);
    const isNew = query && ![...listed, ...unlisted.map((name) => name.toLowerCase())].includes(query.toLowerCase());
    list.replaceChildren(...names.map((name, index) => option(name, name, index)));
    if (isNew) list.append(option(input.dataset.createText.replace("{name}", query), query, names.length));
    if (!list.children.length) return close();
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    select(query ? 0 : -1);
  }

  /** Shows the names of unlisted channels too, once they arrive. */
  async function search() {
    const text = input.value;
    others = await findNames("channel", text);
    if (text && text === input.value) show();
  }

  function select(index) {
    active = index;
    for (const [number, element] of [...list.children].entries()) {
      element.setAttribute("aria-selected", String(number === active));
    }
    if (active < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", list.children[active].id);
  }

  for (const [name, value] of Object.entries({
    role: "combobox",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
  })) {
    input.setAttribute(name, value);
  }
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("aria-label", input.dataset.searchText);
  input.placeholder = input.dataset.searchText;
  input.removeAttribute("name");
  input.removeAttribute("maxlength");
  input.value = "";
  input.after(sent);
  for (const name of typed.split(",")) if (name.trim()) add(name.trim());

  input.addEventListener("input", (event) => {
    event.stopPropagation();
    const names = input.value.split(",");
    if (names.length < 2) {
      if ("more" in input.dataset) search();
      return show();
    }
    for (const name of names) if (name.trim()) add(name.trim());
  });
  input.addEventListener("focus", show);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const count = list.hidden ? 0 : list.children.length;
    if (event.key === "Enter" && (count || input.value.trim())) {
      event.preventDefault();
      if (active >= 0 && count) add(list.children[active].dataset.name);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!count) return show();
      const step = event.key === "ArrowDown" ? 1 : -1;
      select((active + step + count) % count);
    } else if (event.key === "Escape" && count) {
      event.stopPropagation();
      close();
    }
  });
  group.addEventListener("change", update);
}

document.querySelectorAll("[data-picker]").forEach(enhance);
