/** Flow schedule: a task starts as soon as its input is there, without waiting for the others of its step. */
import { node, workflow } from "superstep"

/**
 * A video is transcoded, which is slow, while its thumbnail is made and published. In supersteps the thumbnail
 * is published when both are done; in flow, when the thumbnail is.
 */
export function processing(schedule: "superstep" | "flow", transcoding: () => Promise<unknown>) {
  const upload = node("upload", (video: string) => video)
  const transcode = node("transcode", async (video: string) => {
    await transcoding()
    return `${video} transcoded`
  })
  const thumbnail = node("thumbnail", (video: string) => `${video}.png`)
  const publish = node("publish", (image: string) => `${image} published`)
  return workflow("processing", { schedule })
    .start(upload)
    .fanOut(upload, [transcode, thumbnail])
    .edge(thumbnail, publish)
    .build()
}

if (import.meta.filename === process.argv[1]) {
  const slow = () => new Promise((done) => setTimeout(done, 10))
  for (const schedule of ["superstep", "flow"] as const) {
    const { outputs } = await processing(schedule, slow).run("talk")
    console.log(`${schedule}:`, outputs)
  }
}
