// A color field with a picker next to it: each shows the value of the other.
const HEX = /^#?([0-9a-f]{6})$/i;

for (const picker of document.querySelectorAll("[data-picks]")) {
  const field = document.getElementById(picker.dataset.picks);
  picker.addEventListener("input", () => (field.value = picker.value));
  field.addEventListener("input", () => {
    const hex = HEX.exec(field.value.trim());
    picker.value = hex ? `#${hex[1].toLowerCase()}` : picker.defaultValue;
  });
}
