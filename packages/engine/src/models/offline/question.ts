/** What kind of answer a request wants, and how a sentence shows that it has one. */

export type Wish =
  | "who"
  | "when"
  | "where"
  | "why"
  | "how"
  | "amount"
  | "yes-no"
  | "digest"
  | "statement"
  | "any"

const DIGEST =
  /\b(?:summari[sz]e|summary|report|digest|overview|outline|synthesi[sz]e|write|draft|compose|review|translate|rewrite|shorten|key points|main points|takeaways?|bullet|condense|recap|combine|merge|conclusions?)\b/i
const MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
const DATE = new RegExp(
  String.raw`\b(?:(?:${MONTH})[a-z]*\.? \d|\d{1,2}\.? (?:${MONTH})|(?:1[5-9]|20)\d\d\b|mon|tues|wednes|thurs|fri|satur|sunday|\d+ (?:second|minute|hour|day|week|month|year)s?|\d{1,2}:\d\d|today|tomorrow|yesterday|noon|midnight|\d ?(?:am|pm)\b)`,
  "i",
)

export function wishOf(request: string): Wish {
  const text = request.trim()
  if (/\bhow (?:many|much|long|far|often|old|big|large|high|tall|deep|fast|expensive)\b/i.test(text))
    return "amount"
  if (
    /\bwhat (?:is|are|was) the (?:price|cost|number|amount|total|size|distance|population|height|age)\b/i.test(
      text,
    )
  )
    return "amount"
  if (/\b(?:when|what (?:time|date|day|year)|until when|which (?:year|day|month))\b/i.test(text))
    return "when"
  if (/\b(?:who|whom|whose)\b/i.test(text)) return "who"
  if (/\b(?:where|in which (?:city|country|place))\b/i.test(text)) return "where"
  if (/\b(?:why|for what reason|how come)\b/i.test(text)) return "why"
  if (/^(?:is|are|was|were|does|do|did|can|could|may|will|would|should|has|have|must)\b.*\?/i.test(text))
    return "yes-no"
  if (/\bhow\b/i.test(text)) return "how"
  if (!text.endsWith("?") && DIGEST.test(text)) return "digest"
  if (/\?/.test(text) || /^(?:what|which|tell|explain|describe|find|define|name|list)\b/i.test(text))
    return "any"
  return "statement"
}

/** True when the sentence has the kind of thing that the wish asks for. */
export function hasAnswer(wish: Wish, sentence: string): boolean {
  switch (wish) {
    case "amount":
      return /\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|million|free)\b/i.test(
        sentence,
      )
    case "when":
      return DATE.test(sentence)
    case "who":
      return /[^.!?\s]\s+\p{Lu}\p{Ll}+|^\p{Lu}\p{Ll}+ \p{Lu}\p{Ll}+/u.test(sentence)
    case "where":
      return /\b(?:in|at|near|on|from|to|between)\s+(?:the\s+)?\p{Lu}/u.test(sentence)
    case "why":
      return /\b(?:because|since|due to|so that|therefore|reason|caused?|as a result|in order to)\b/i.test(
        sentence,
      )
    case "how":
      return /\b(?:by|through|using|with|first|then|run|open|click|press|go to|step|use)\b/i.test(sentence)
    default:
      return false
  }
}

/** What the wish asks for, in words. */
export const WANTED: Readonly<Record<Wish, string>> = {
  who: "a person or organisation",
  when: "a date or a time",
  where: "a place",
  why: "a reason",
  how: "a way to do it",
  amount: "a number",
  "yes-no": "a yes or a no",
  digest: "a text made from what is given",
  statement: "a reply",
  any: "a fact or an explanation",
}
