// The locale of dates and numbers: that of the page. English has the order of Europe, as on the server.
export const language = document.documentElement.lang;

export const locale = language === "en" ? "en-GB" : language;
export const formatDay = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric" });
