(function () {
  "use strict";
  var form = document.getElementById("answer");
  var copy = document.getElementById("copy");

  if (form) {
    var errorMessage = document.getElementById("error-message");
    var unavailable = errorMessage.textContent;
    form.addEventListener("submit", function (event) {
      event.preventDefault();
      var button = form.querySelector("button[type=submit]");
      var controller = new AbortController();
      var timeout = setTimeout(function () { controller.abort(); }, 15000);
      button.disabled = true;
      errorMessage.hidden = true;
      errorMessage.textContent = unavailable;
      fetch(form.action, {
        method: "POST",
        headers: {"Accept": "application/json"},
        body: new URLSearchParams(new FormData(form)),
        signal: controller.signal
      }).then(function (response) {
        return response.json().then(function (data) {
          // An invalid field: the server says what to correct.
          if (response.status === 400) { errorMessage.textContent = data.message; }
          if (!response.ok) { throw new Error("rejected"); }
          return data;
        });
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
