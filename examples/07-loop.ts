/** Loop: repeat while a condition holds, up to a maximum, then leave through the exit. */
import { node, workflow } from "superstep"

interface Draft {
  readonly sentences: readonly string[]
  readonly passes: number
}

const shorten = node(
  "shorten",
  ({ sentences, passes }: Draft): Draft => ({ sentences: sentences.slice(0, -1), passes: passes + 1 }),
)
const review = node("review", (draft: Draft) => draft)
const publish = node("publish", ({ sentences, passes }: Draft) => ({ text: sentences.join(" "), passes }))

export const summary = workflow("summary")
  .chain(shorten, review)
  .loop(review, shorten, {
    while: (draft) => draft.sentences.join(" ").length > 60,
    // If the text is still too long after three repetitions, it is published anyway.
    max: 3,
    exit: publish,
  })
  .output(publish)
  .build()

export const notes = [
  "Sales rose by four per cent.",
  "Costs stayed level.",
  "Two offices moved.",
  "The canteen has a new menu.",
]

if (import.meta.filename === process.argv[1]) {
  const { outputs } = await summary.run({ sentences: notes, passes: 0 })
  console.log(outputs[0]?.text)
  console.log(`after ${outputs[0]?.passes} passes`)
}
