// The locale of dates and numbers: that of the page. English has the order of Europe, as on the server.
const language = document.documentElement.lang;

export const locale = language === "en" ? "en-GB" : language;
