/** What a model call is expected to use at the most, as far as that is known before it is made. */
import type { Usage } from "../core/index.ts"
import { usualPrices } from "./call-model.ts"
import { estimateInput } from "./estimate.ts"
import type { Model, ModelCall } from "./model.ts"
import { modelName } from "./model-name.ts"
import type { PriceTable } from "./prices.ts"
import { settingsOf } from "./with-settings.ts"

/**
 * The prompt by its length, the reply by the most that the call allows, the price of the dearest model that may answer. A
 * call without a limit on its reply is expected to use its prompt alone: nobody knows more.
 */
export function modelReservation(
  models: readonly Model[],
  call: ModelCall,
  prices: PriceTable = usualPrices(),
): Usage {
  const inputTokens = estimateInput(call)
  let outputTokens = 0
  let usd: number | undefined
  let unpricedCalls = 0
  for (const model of models) {
    const output = longestReply(model, call)
    outputTokens = Math.max(outputTokens, output)
    const cost = prices.cost(modelName(model), { input: inputTokens, output })
    if (cost === undefined) unpricedCalls = 1
    else usd = Math.max(usd ?? 0, cost)
  }
  return {
    inputTokens,
    outputTokens,
    modelCalls: 1,
    ...(usd !== undefined && { usd }),
    // A model without a known price may be the one that answers.
    ...((usd === undefined || unpricedCalls > 0) && { unpricedCalls: 1 }),
    estimatedCalls: 1,
  }
}

/** Settings are the user's, and not checked before: one that is no number limits nothing. */
function longestReply(model: Model, call: ModelCall): number {
  const { maxOutputTokens = settingsOf(model).maxOutputTokens } = call
  return typeof maxOutputTokens === "number" && maxOutputTokens > 0 && Number.isFinite(maxOutputTokens)
    ? maxOutputTokens
    : 0
}
