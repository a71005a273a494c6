// Short forms of DOM queries.

export const $ = (selector, root = document) => root.querySelector(selector);
export const isEditable = (element) => element?.closest("input, textarea, select, [contenteditable]");
