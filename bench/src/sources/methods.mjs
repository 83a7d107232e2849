// Ways of choosing a source. Each gives its kind: database, files or documents; the last one answers, too.
import { sourceRanker } from "@superstep/retrieval"
import { answerEndToEnd } from "./end-to-end.mjs"
import { chooseByNames } from "./words-before.mjs"

const first = async (ranker, { text }) => {
  const [best] = (await ranker.rank(text)).sources
  return best?.score > 0 ? best.id : "none"
}

/** Rankers keep what they know from one question to the next. */
const rankers = new WeakMap()
function rankerOf(opened, name, make) {
  const known = rankers.get(opened) ?? new Map()
  rankers.set(opened, known)
  if (!known.has(name)) known.set(name, make())
  return known.get(name)
}

export const methods = {
  "names only, as before": ({ text }, opened) => chooseByNames(text, opened),
  "words and values": (question, opened) =>
    first(
      rankerOf(opened, "words", () =>
        sourceRanker({ databases: [opened.database, opened.files], documents: opened.documents.plain }),
      ),
      question,
    ),
  "with offline embeddings": (question, opened, embeddings) =>
    first(
      rankerOf(opened, "meaning", () =>
        sourceRanker(
          { databases: [opened.database, opened.files], documents: opened.documents.embedded },
          { embeddings },
        ),
      ),
      question,
    ),
  "end to end": answerEndToEnd,
}
