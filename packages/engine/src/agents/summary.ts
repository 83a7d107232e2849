/** A long conversation with its older part told in a few sentences, which a model writes once and the journal keeps. */
import type { Usage } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import { messageText } from "../models/prompt-text.ts"
import { textOf, userText } from "./conversation.ts"
import type { Summarise } from "./history-policy.ts"
import { type ModelStep, modelStep } from "./model-step.ts"
import { standing, summaryMessage } from "./summary-message.ts"

interface Summary {
  readonly text: string
  readonly model: string
  readonly usage: Usage
}

const TASK =
  "Summarise the conversation for somebody who goes on with it: what was asked, what was found and done, what is decided, what is still open. Keep names, numbers and sources. Answer with the summary alone."

/** The message that is to stand for the older ones, or undefined while there are not too many of them. */
export async function summaryOf(
  policy: Summarise,
  messages: readonly Message[],
  caller: Pick<ModelStep<Summary>, "core" | "guards" | "place" | "signal">,
): Promise<Message | undefined> {
  const { summary, rest } = standing(messages)
  if (rest.length <= policy.after) return undefined
  const start = turnStart(rest, rest.length - (policy.keep ?? Math.floor(policy.after / 2)))
  if (start < 2) return undefined
  const old = rest.slice(0, start)
  const { text } = await modelStep<Summary>({
    ...caller,
    name: "summary",
    models: caller.core.summariser,
    asked: {
      prompt: [
        {
          role: "system",
          content: policy.instructions === undefined ? TASK : `${TASK} ${policy.instructions}`,
        },
        userText([...(summary === undefined ? [] : [summary]), ...old].map(told).join("\n\n")),
      ],
    },
    keep: (reply) => ({ text: textOf(reply), model: reply.model, usage: reply.usage }),
  })
  // Without a word about it, what was said must not be dropped.
  return text.trim() === "" ? undefined : summaryMessage(text, rest.length - start)
}

/** Calls and their results are not parted. */
function turnStart(messages: readonly Message[], wanted: number): number {
  let start = Math.min(wanted, messages.length - 1)
  while (start > 0 && messages[start]?.role === "tool") start--
  return start
}

function told(message: Message): string {
  return `${message.role}: ${messageText(message)}`
}
