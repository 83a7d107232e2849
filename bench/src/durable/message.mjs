// The message that every durable step adds: 1,024 bytes of JSON.

export const messageBytes = 1_024

const filler = "x".repeat(messageBytes - JSON.stringify({ role: "assistant", content: "00000000 " }).length)

export function message(index) {
  return { role: "assistant", content: `${String(index).padStart(8, "0")} ${filler}` }
}

/** How many steps each of the concurrent runs has. */
export const stepsOfConcurrentRun = 10
