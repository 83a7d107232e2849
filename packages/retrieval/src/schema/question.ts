/** A question as sources are ranked for it: its words in the forms in which they are compared, its numbers, and its form. */
import { isTelling, singular, splitWords, stemOf } from "../words.ts"

interface QuestionWord {
  /** Of one thing, in lower case and without marks. */
  readonly text: string
  readonly stem: string
  /** Its place among all words. */
  readonly at: number
}

export interface Question {
  /** All words, of one thing each: values and initialisms may have stop words in them. */
  readonly all: readonly string[]
  /** Those that tell something. */
  readonly words: readonly QuestionWord[]
  /** Whether it asks for figures and records, for an explanation, or does not say. */
  readonly form: "figures" | "explanation" | "open"
}

/** A longer goal is judged by its beginning. */
const MAX_WORDS = 200
const MAX_CHARACTERS = 2_000

export function readQuestion(goal: string): Question {
  const all = splitWords(goal).slice(0, MAX_WORDS)
  const words = all.flatMap((word, at) => {
    if (!isTelling(word)) return []
    const text = singular(word)
    return [{ text, stem: stemOf(word), at }]
  })
  return { all: all.map(singular), words, form: formOf(goal) }
}

/** Asks for a count, a sum, an extreme, or the records that something holds for. */
const FIGURES =
  /\b(?:how (?:many|much|often|old|large|big|heavy|far|deep)|number of|count|total|sum|average|mean|median|minimum|maximum|(?!(?:request|interest|forest|harvest|protest|suggest|invest|contest|honest|modest|digest|arrest|guest|quest|chest|almost)\b)[a-z]{3,}est|most|least|fewest|top|percentage|percent|ratio|list|which|when (?:did|was|were)|who (?:is|was|has|had|did)|last|since \d|between \d|in (?:19|20)\d\d|(?:more|less|fewer) than|(?:over|under|above|below) \d)\b/i
/** Asks for a rule, a reason, or how something is done. */
const EXPLANATION =
  /^\s*(?:may|can|could|should|must|shall|do|does|is it|am i|are (?:we|you|they|there))\b|\b(?:how (?:do|does|should|can|must|to|is|are|soon|early)|why|what (?:should|happens|must|do|if|to do|counts|becomes)|who (?:may|can|must|should|decides|approves|pays|confirms)|allowed|permitted|forbidden|have to|has to|need to|supposed to|procedure|policy|policies|rules?|guidelines?|instructions?|explain|describe|responsible|required|in case of|until when|under (?:which|what))\b/i

function formOf(text: string): Question["form"] {
  const goal = text.slice(0, MAX_CHARACTERS)
  const [figures, explanation] = [FIGURES.test(goal), EXPLANATION.test(goal)]
  if (figures === explanation) return "open"
  return figures ? "figures" : "explanation"
}
