// On a page that `galley review` serves: what is accepted, rejected, commented and committed.
function addChoices() {}
function addFileChoices() {}
function startDecisions() {}
