(function () {
  "use strict";
  var self = document.currentScript;
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
      script.nonce = self.nonce;
      script.src = src;
      waiting += 1;
      document.head.appendChild(script);
    }
    if (then) { loads[src].addEventListener("load", then); }
  }

  // Continue when all providers have loaded, at the latest after two seconds.
  function startPixels(then) {
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
    function decide(answer) {
      var secure = location.protocol === "https:" ? "; Secure" : "";
      document.cookie = "wp_consent=" + answer + config.cookie + secure;
      box.hidden = true;
      if (answer === "yes") { startPixels(afterPixels); } else { afterPixels(); }
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
