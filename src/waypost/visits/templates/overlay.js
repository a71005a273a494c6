(function () {
  "use strict";
  var form = document.getElementById("answer");
  var copy = document.getElementById("copy");

  if (form) {
    form.addEventListener("submit", function (event) {
      event.preventDefault();
      var errorMessage = document.getElementById("error-message");
      var button = form.querySelector("button[type=submit]");
      var controller = new AbortController();
      var timeout = setTimeout(function () { controller.abort(); }, 15000);
      button.disabled = true;
      errorMessage.hidden = true;
      fetch(form.action, {
        method: "POST",
        headers: {"Accept": "application/json"},
        body: new URLSearchParams(new FormData(form)),
        signal: controller.signal
      }).then(function (response) {
        if (!response.ok) { throw new Error("rejected"); }
        return response.json();
      }).then(function (data) {
        var thanks = document.createElement("p");
        thanks.setAttribute("role", "status");
        thanks.dir = "auto";
        thanks.className = "message";
        thanks.textContent = data.message;
        form.replaceWith(thanks);
      }).catch(function () {
        button.disabled = false;
        errorMessage.hidden = false;
      }).finally(function () { clearTimeout(timeout); });
    });
  }

  // Not navigator.clipboard: it needs an origin and HTTPS.
  if (copy) {
    copy.hidden = false;
    copy.addEventListener("click", function () {
      getSelection().selectAllChildren(document.getElementById("code"));
      if (document.execCommand("copy")) { copy.textContent = "Copied"; }
    });
  }
}());
