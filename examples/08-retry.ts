/** Retry: a failed attempt is repeated after an increasing delay. */
import { node, SuperstepError, workflow } from "superstep"

/** Simulates a payment service that rejects the first two attempts. */
function chargeCard(amount: number, attempt: number, key: string): string {
  if (attempt <= 2) throw new SuperstepError("RATE_LIMIT", "Too many requests.")
  return `charged ${amount}, at attempt ${attempt}, under ${key}`
}

const charge = node({
  id: "charge",
  retry: {
    attempts: 4,
    backoff: "exponential",
    // 20 ms before the second attempt, 40 ms before the third, 80 ms before the fourth.
    delay: 20,
    // Any other error, such as a declined card, fails immediately: another attempt would not help.
    on: ["RATE_LIMIT"],
  },
  // The key is the same for every attempt, so that the service can tell a retry from a second payment.
  run: (amount: number, ctx) => chargeCard(amount, ctx.attempt, ctx.idempotencyKey),
})

export const payment = workflow("payment").start(charge).build()

if (import.meta.filename === process.argv[1]) {
  console.log(...(await payment.run(30, { runId: "payment-1" })).outputs)
}
