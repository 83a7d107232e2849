/** A question that goes from one person to the next, asked inline or apart. */
import { type Context, node, type OpenRequest, type Question, workflow } from "../../index.ts"

export const start = node("start", (n: number) => n)

/** Ann has 100 ms, then Bob 200, then Eve 300. */
export const stages = {
  prompt: "Go?",
  to: "ann",
  timeout: 100,
  escalate: [
    { to: "bob", timeout: 200 },
    { to: "eve", timeout: 300 },
  ],
} satisfies Question

export const asks = (question: Partial<Question> = {}) =>
  node("asks", (_: number, ctx: Context) => ctx.ask({ ...stages, ...question }))
export const asking = (question: Partial<Question> = {}) => workflow("w").chain(start, asks(question)).build()

export const requests = (question: Partial<Question> = {}) =>
  node({
    id: "requests",
    run: (n: number, ctx: Context) => ctx.request({ ...stages, data: { n }, ...question }),
    onAnswer: (answer: unknown, _: Context, request: OpenRequest) => ({ answer, to: request.to ?? null }),
  })
export const requesting = (question: Partial<Question> = {}) =>
  workflow("w").chain(start, requests(question)).build()

export const asked = (list: readonly OpenRequest[]) => list.map(({ to, deadline }) => [to, deadline])
