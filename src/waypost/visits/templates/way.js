(function () {
  "use strict";
  var me = document.currentScript;
  var way = JSON.parse(document.getElementById("way").textContent);
  var starts = {{ pixel_starters | safe }};
  var loads = {};
  var waiting = 0;
  var gone = false;

  function go() {
    if (!gone) { gone = true; location.replace(way.url); }
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
      script.nonce = me.nonce;
      script.src = src;
      waiting += 1;
      document.head.appendChild(script);
    }
    if (then) { loads[src].addEventListener("load", then); }
  }

  // Goes on when every provider had a moment, and in any case soon.
  function track(then) {
    way.pixels.forEach(function (pixel) {
      try { starts[pixel.type](pixel.tag, pixel.src); } catch (error) { /* one provider less */ }
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

  function after() {
    if (way.leave === "pixels") { go(); }
  }

  function ask() {
    var box = document.getElementById("consent");
    function answer(said) {
      var secure = location.protocol === "https:" ? "; Secure" : "";
      document.cookie = "wp_consent=" + said + way.cookie + secure;
      box.hidden = true;
      if (said === "yes") { track(after); } else { after(); }
    }
    box.hidden = false;
    document.getElementById("allow").addEventListener("click", function () { answer("yes"); });
    document.getElementById("decline").addEventListener("click", function () { answer("no"); });
  }

  function count() {
    var left = document.getElementById("left");
    var end = Date.now() + way.count * 1000;
    var timer = setInterval(function () {
      var seconds = Math.max(0, Math.ceil((end - Date.now()) / 1000));
      left.textContent = seconds;
      if (seconds === 0) { clearInterval(timer); go(); }
    }, 200);
  }

  if (way.leave === "count") { count(); }
  if (way.asks) { ask(); } else if (way.pixels.length) { track(after); }
}());
