(function () {
  "use strict";
  var form = document.getElementById("answer");
  var copy = document.getElementById("copy");

  // The result of a poll: each option with its share of the votes.
  function resultList(results) {
    var list = document.createElement("ul");
    list.className = "results";
    results.forEach(function (result) {
      var item = document.createElement("li");
      var choice = document.createElement("span");
      var share = document.createElement("strong");
      var meter = document.createElement("meter");
      choice.dir = "auto";
      choice.textContent = result.choice;
      share.textContent = result.percent + " %";
      meter.max = 100;
      meter.value = result.percent;
      meter.setAttribute("aria-label", result.choice);
      item.append(choice, share, meter);
      list.append(item);
    });
    return list;
  }

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
        if (data.results) { thanks.after(resultList(data.results)); }
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
      if (document.execCommand("copy")) { copy.textContent = copy.dataset.done; }
    });
  }
}());
