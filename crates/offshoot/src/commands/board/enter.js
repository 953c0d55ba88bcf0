"use strict";
// Takes the token out of the address before anything else can read it there, and gives it back once.
const token = location.hash.slice(1);
history.replaceState(null, "", "/");
const told = document.getElementById("told");
if (!token) {
  told.textContent = "This address opens nothing: use the one that offshoot board printed.";
} else {
  fetch("/session", { method: "POST", body: token, credentials: "same-origin" }).then(async (answer) => {
    const text = await answer.text();
    if (answer.ok) location.replace(text);
    else told.textContent = text;
  }, () => { told.textContent = "The board does not answer: it was ended."; });
}
