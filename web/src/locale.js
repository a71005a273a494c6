// The locale of dates and numbers: that of the page. English has the order of Europe, as on the server.
// Arabic has the digits of the server in every browser.
const page = document.documentElement.lang;

export const language = page === "ar" ? "ar-u-nu-latn" : page;
export const comma = page === "ar" ? "، " : ", ";
export const locale = page === "en" ? "en-GB" : language;
export const formatDay = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric" });
