import type { RunResult } from "@superstep/engine"
import { filePart } from "@superstep/engine/tools"
import { expect, test } from "vitest"
import { runResult } from "./run-result.ts"

const ended = (...outputs: readonly unknown[]) =>
  runResult({ runId: "r", status: "completed", outputs, requests: [], waits: [] } as unknown as RunResult)

const image = filePart("iVBORw0KGgo=")

test("outputs with files are images, audio and resources; their bytes are sent once", () => {
  const sound = filePart("AAAA", { mediaType: "audio/wav" })
  const report = filePart("AAAA", { mediaType: "application/pdf", filename: "the report.pdf" })
  const link = filePart("https://x.example/a.png")
  const { content, structuredContent } = ended(["See:", image, { n: 1 }], sound, report, link)
  expect(content).toEqual([
    { type: "text", text: "See:" },
    { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
    { type: "text", text: '{"n":1}' },
    { type: "audio", data: "AAAA", mimeType: "audio/wav" },
    {
      type: "resource",
      resource: { uri: "file:///the%20report.pdf", mimeType: "application/pdf", blob: "AAAA" },
    },
    {
      type: "resource_link",
      uri: "https://x.example/a.png",
      name: "https://x.example/a.png",
      mimeType: "image/png",
    },
  ])
  expect(JSON.stringify(structuredContent)).not.toContain("AAAA")
  expect(structuredContent).toMatchObject({
    outputs: [["See:", { mediaType: "image/png" }, { n: 1 }], {}, {}, {}],
  })
})

test("other outputs are text and data as they are", () => {
  expect(ended("done")).toMatchObject({ content: [{ type: "text", text: "done" }] })
  expect(ended({ a: 1 }).structuredContent).toMatchObject({ outputs: [{ a: 1 }] })
})
