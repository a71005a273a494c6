(function () {
  "use strict";
  var config = JSON.parse(document.getElementById("script-config").textContent);
  var starts = {{ pixel_starters | safe }};
  var loads = {};
  var waiting = 0;
  var redirected = false;

  function redirect() {
    if (!redirected) { redirected = true; location.replace(config.url); }
  }

  function queue(name, method, list) {
    if (!window[name]) {
      var kept = window[name] = function () {
        if (kept[method]) { kept[method].apply(kept, arguments); } else { kept[list].push(arguments); }
      };
      kept[list] = [];
    }
    return window[name];
  }

  function load(src, then) {
    if (!loads[src]) {
      var script = loads[src] = document.createElement("script");
      script.async = true;
      script.src = src;
      waiting += 1;
      document.head.appendChild(script);
    }
    if (then) { loads[src].addEventListener("load", then); }
  }

  // On a host with the dashboard this page has no origin, and the browser refuses to store anything. Scripts of
  // providers expect cookies and storage, so they get some that last as long as the page.
  function keepInMemory() {
    var cookies = {};
    function storage() {
      var items = {};
      return {
        getItem: function (name) { return name in items ? items[name] : null; },
        setItem: function (name, value) { items[name] = String(value); },
        removeItem: function (name) { delete items[name]; },
        clear: function () { items = {}; },
        key: function (index) { return Object.keys(items)[index] || null; },
        get length() { return Object.keys(items).length; }
      };
    }
    try { if (document.cookie !== null) { return; } } catch (error) { /* there is no origin */ }
    Object.defineProperty(document, "cookie", {
      get: function () { return Object.keys(cookies).map(function (name) { return cookies[name]; }).join("; "); },
      set: function (text) {
        var pair = String(text).split(";")[0].trim();
        cookies[pair.split("=")[0]] = pair;
      }
    });
    Object.defineProperty(window, "localStorage", {value: storage()});
    Object.defineProperty(window, "sessionStorage", {value: storage()});
  }

  // Continue when all providers have loaded, at the latest after two seconds.
  function startPixels(then) {
    keepInMemory();
    config.pixels.forEach(function (pixel) {
      try { starts[pixel.type](pixel.tag, pixel.src); } catch (error) { /* skip this provider */ }
    });
    var late = setTimeout(then, 2000);
    function done() {
      waiting -= 1;
      if (waiting === 0) { clearTimeout(late); setTimeout(then, 400); }
    }
    Object.keys(loads).forEach(function (src) {
      loads[src].addEventListener("load", done);
      loads[src].addEventListener("error", done);
    });
    if (waiting === 0) { clearTimeout(late); then(); }
  }

  function afterPixels() {
    if (config.leave === "pixels") { redirect(); }
  }

  function askConsent() {
    var box = document.getElementById("consent");
    // The server stores the answer: on a host with the dashboard this page has no origin, and so no cookies.
    function decide(answer) {
      box.hidden = true;
      location.replace(config.consent + answer);
    }
    box.hidden = false;
    document.getElementById("allow").addEventListener("click", function () { decide("yes"); });
    document.getElementById("decline").addEventListener("click", function () { decide("no"); });
  }

  function countDown() {
    var left = document.getElementById("left");
    var end = Date.now() + config.count * 1000;
    var timer = setInterval(function () {
      var seconds = Math.max(0, Math.ceil((end - Date.now()) / 1000));
      left.textContent = seconds;
      if (seconds === 0) { clearInterval(timer); redirect(); }
    }, 200);
  }

  if (config.leave === "count") { countDown(); }
  if (config.asks) { askConsent(); } else if (config.pixels.length) { startPixels(afterPixels); }
}());
{% if has_overlay %}{% include "overlay.js" %}{% endif %}
