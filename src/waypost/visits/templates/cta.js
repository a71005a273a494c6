(function () {
  "use strict";
  var form = document.getElementById("answer");
  var copy = document.getElementById("copy");

  if (form) {
    form.addEventListener("submit", function (event) {
      event.preventDefault();
      var trouble = document.getElementById("trouble");
      var button = form.querySelector("button[type=submit]");
      var stop = new AbortController();
      var late = setTimeout(function () { stop.abort(); }, 15000);
      button.disabled = true;
      trouble.hidden = true;
      fetch(form.action, {
        method: "POST",
        headers: {"Accept": "application/json"},
        body: new URLSearchParams(new FormData(form)),
        signal: stop.signal
      }).then(function (answer) {
        if (!answer.ok) { throw new Error("not taken"); }
        return answer.json();
      }).then(function (told) {
        var thanks = document.createElement("p");
        thanks.setAttribute("role", "status");
        thanks.dir = "auto";
        thanks.className = "message";
        thanks.textContent = told.message;
        form.replaceWith(thanks);
      }).catch(function () {
        button.disabled = false;
        trouble.hidden = false;
      }).finally(function () { clearTimeout(late); });
    });
  }

  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", function () {
      navigator.clipboard.writeText(document.getElementById("code").textContent).then(function () {
        copy.textContent = "Copied";
      });
    });
  }
}());
