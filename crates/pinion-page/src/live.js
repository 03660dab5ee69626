
// Follows a run that goes on: asks for the page's parts, and puts what is new into their places.
const state = document.getElementById("state");
const main = document.querySelector("main"), links = document.querySelector("nav");
const seen = [...main.children].map(() => "");
let missed = 0;

function put(part, number) {
  if (seen[number] === part.heading + part.html) return;
  seen[number] = part.heading + part.html;
  let section = main.children[number];
  if (!section) {
    section = document.createElement("section");
    section.id = `part-${number}`;
    section.append(document.createElement("h2"));
    main.append(section);
    const link = document.createElement("a");
    link.href = `#part-${number}`;
    links.append(link);
  }
  const heading = section.querySelector("h2"), drawn = section.querySelector(".curves");
  const same = heading.textContent === part.heading;
  heading.textContent = links.children[number].textContent = part.heading;
  const fresh = document.createElement("template");
  fresh.innerHTML = part.html;
  const curves = fresh.content.querySelector(".curves");
  if (same && drawn && curves) {
    drawn.take(JSON.parse(curves.querySelector("script").textContent));
    return;
  }
  // What somebody has folded or unfolded stays so.
  const folds = [...section.querySelectorAll("details")].map((one) => one.open);
  fresh.content.querySelectorAll("details").forEach((one, at) => { one.open = folds[at] ?? one.open; });
  section.replaceChildren(heading, fresh.content);
  section.querySelectorAll(".curves").forEach(drawCurves);
}

async function follow() {
  try {
    const answer = await fetch("parts", { cache: "no-store" });
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
    (await answer.json()).forEach(put);
    missed = 0;
    state.textContent = `as of ${new Date().toLocaleTimeString()}`;
  } catch (error) {
    missed += 1;
    state.textContent = `the run is over, or does not answer (${error.message})`;
  }
  // What does not answer for long is over.
  if (missed < 10) setTimeout(follow, 1000);
}
follow();
