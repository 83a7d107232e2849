/** Why messages took an edge, or did not: every edge of the node for its last task, with the reason the server knows. */
import type { Condition } from "@superstep/client"
import { useQuery } from "@tanstack/react-query"
import { client } from "../../api/session.ts"
import { brief, plural } from "../../ui/format.ts"
import { Icon } from "../../ui/icon.tsx"
import { JsonView } from "../../ui/json-view.tsx"
import { Empty, Failure, Loading } from "../../ui/states.tsx"
import { taskAt } from "../graph/node-states.ts"
import { nodeKey, nodeName, OUTPUT, START } from "../keys.ts"
import { useNames } from "../node-names.ts"
import type { InspectorProps } from "../run-view-props.ts"
import { Head, Section } from "./head.tsx"
import styles from "./inspector.module.css"

export function EdgeWhy({ edgeKey, run, history, point }: InspectorProps & { readonly edgeKey: string }) {
  const [path = "", source = "", target = ""] = edgeKey.split("|")
  const [from, to] = [nodeName(source), nodeName(target)]
  const times = history.countOf(edgeKey, point)
  const { outline } = history
  const ended = outline.tasks.findLast(
    (task) =>
      task.node === from &&
      history.nodePathOf(task.path) === path &&
      taskAt(task, point)?.status === "finished",
  )
  const why = useQuery({
    queryKey: ["why", run, ended?.path, ended?.id],
    enabled: ended !== undefined,
    queryFn: async ({ signal }) =>
      (
        await client.request("GET /v1/runs/{run}/why", {
          path: { run },
          query: { task: String(ended?.id), path: [...(outline.paths[ended?.path ?? 0] ?? [])] },
          signal,
        })
      ).data,
  })
  const names = useNames()
  const titleOf = (id: string) => names.title(nodeKey(path, id))
  const title = `${from === START ? "start" : titleOf(from)} → ${to === OUTPUT ? "output" : titleOf(to)}`
  return (
    <>
      <Head title={title} about={times === 0 ? "not taken" : `taken ${plural(times, "time")}`} />
      <div className={styles.body} tabIndex={0} role="region" aria-label="Why">
        {ended === undefined ? (
          <Empty icon="choice" title="No decision yet">
            {from === START
              ? "The input of the run goes here."
              : `At this point, no task of ${titleOf(from)} has finished.`}
          </Empty>
        ) : why.isError ? (
          <Failure error={why.error} />
        ) : why.data === undefined ? (
          <Loading lines={4} />
        ) : (
          why.data.messages.map((message, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: messages have no names, and never change
            <Section key={i} title={`Task ${why.data.task} sent`}>
              <JsonView value={message.value} name="message" isBare />
              <ul className={styles.verdicts}>
                {message.edges.map((edge, n) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: edges are in the order of the workflow
                  <li key={n} data-taken={edge.taken || undefined}>
                    <Icon name={edge.taken ? "check" : "cross"} size={14} />
                    <div>
                      <strong>{edge.to === undefined ? "output" : titleOf(edge.to)}</strong>{" "}
                      {edge.label !== undefined && <code>{edge.label}</code>}
                      <p className={styles.dim}>{edge.reason}</p>
                      {edge.condition !== undefined && <ConditionView condition={edge.condition} />}
                    </div>
                  </li>
                ))}
              </ul>
            </Section>
          ))
        )}
      </div>
    </>
  )
}

/** A condition with what its parts were. */
function ConditionView({ condition: { condition, holds, operands } }: { readonly condition: Condition }) {
  return (
    <div className={styles.condition}>
      <code>{condition}</code> <strong>{holds ? "holds" : "does not hold"}</strong>
      <dl>
        {operands.map(({ text, value }) => (
          <div key={text}>
            <dt>
              <code>{text}</code>
            </dt>
            <dd>{brief(value, 120)}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
