/** The run as a whole at the point: input, outputs, state, cost, and what it waits for. */
import { openRequests } from "@superstep/engine/protocol"
import { Link } from "wouter"
import { runHref } from "../../frame/address.ts"
import { Answer } from "../../inbox/answer.tsx"
import { Chip } from "../../ui/chip.tsx"
import { Copy } from "../../ui/copy.tsx"
import { Count, Duration, Money, Time } from "../../ui/figures.tsx"
import { shortId } from "../../ui/format.ts"
import { JsonView } from "../../ui/json-view.tsx"
import type { InspectorProps } from "../run-view-props.ts"
import { ErrorBox, Head, Section } from "./head.tsx"
import styles from "./inspector.module.css"
import { Provenance } from "./provenance.tsx"

export function RunOverview(props: InspectorProps) {
  const { view, row, history, point, hasForms } = props
  const { usage, status } = view
  const isNow = point >= history.length
  const requests = openRequests(view)
  const models = Object.entries(view.usageByModel)
  const nodes = Object.entries(view.usageByNode).filter(
    ([, { usd, inputTokens }]) => usd !== undefined || inputTokens !== undefined,
  )
  return (
    <>
      <Head
        title={view.workflow || (row?.workflow ?? "Run")}
        status={status}
        about={
          view.startedAt === undefined ? (
            "not started"
          ) : (
            <Duration
              from={view.startedAt}
              to={view.finishedAt ?? (isNow ? undefined : history.timeAt(point))}
            />
          )
        }
      />
      <div className={styles.body} tabIndex={0} role="region" aria-label="Details of the run">
        {view.error !== undefined && <ErrorBox error={view.error} />}
        {requests.map((request) => (
          <section key={request.id} className={styles.ask}>
            <h3>
              Waits for {request.to ?? "a person"}, <Time at={request.openedAt} />
            </h3>
            <p className={styles.prompt}>{request.prompt}</p>
            {isNow && hasForms && <Answer run={view.runId} request={request} />}
          </section>
        ))}
        <dl className={styles.facts}>
          <dt>Run</dt>
          <dd>
            <code>{view.runId}</code> <Copy what="the run id" text={() => view.runId} />
          </dd>
          {view.startedAt !== undefined && (
            <>
              <dt>Started</dt>
              <dd>
                <Time at={view.startedAt} />
              </dd>
            </>
          )}
          <dt>Superstep</dt>
          <dd>
            <Count value={view.superstep} />
          </dd>
          <dt>Cost</dt>
          <dd>
            <Money usd={usage.usd} />
          </dd>
          <dt>Tokens</dt>
          <dd>
            <Count value={usage.inputTokens ?? 0} /> in, <Count value={usage.outputTokens ?? 0} /> out
          </dd>
          {row?.thread !== undefined && (
            <>
              <dt>Thread</dt>
              <dd>
                <Link href={`/runs?thread=${encodeURIComponent(row.thread)}`}>{row.thread}</Link>
              </dd>
            </>
          )}
          {row?.forkOf !== undefined && (
            <>
              <dt>Fork of</dt>
              <dd>
                <Link href={runHref(row.forkOf.run)}>{shortId(row.forkOf.run)}</Link>,{" "}
                <Link
                  href={`/compare?a=${encodeURIComponent(row.forkOf.run)}&b=${encodeURIComponent(row.id)}`}
                >
                  compare
                </Link>
              </dd>
            </>
          )}
          {row?.labels !== undefined && (
            <>
              <dt>Labels</dt>
              <dd>
                {Object.entries(row.labels).map(([name, value]) => (
                  <Link key={name} href={`/runs?label=${encodeURIComponent(`${name}=${value}`)}`}>
                    <Chip>
                      {name}: {value}
                    </Chip>
                  </Link>
                ))}
              </dd>
            </>
          )}
        </dl>
        {view.outputs.length > 0 && (
          <Section title={view.outputs.length === 1 ? "Output" : `Outputs (${view.outputs.length})`}>
            {view.outputs.slice(0, 20).map((value, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: outputs have no names, and are only added
              <JsonView key={i} value={value} name={`output-${i + 1}`} />
            ))}
          </Section>
        )}
        <Section title="Input">
          <JsonView value={view.input} name="input" />
        </Section>
        {Object.keys(view.state).length > 0 && (
          <Section title="State">
            <JsonView value={view.state} name="state" />
          </Section>
        )}
        {(Object.keys(view.state).length > 0 || view.outputs.length > 0) && <Provenance {...props} />}
        {models.length > 0 && (
          <Section title="Cost by model">
            <UsageTable rows={models} />
          </Section>
        )}
        {nodes.length > 0 && (
          <Section title="Cost by node">
            <UsageTable rows={nodes} />
          </Section>
        )}
      </div>
    </>
  )
}

function UsageTable({
  rows,
}: {
  readonly rows: readonly (readonly [string, InspectorProps["view"]["usage"]])[]
}) {
  return (
    <table className={styles.usage}>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Calls</th>
          <th scope="col">Tokens</th>
          <th scope="col">Cost</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, { modelCalls, inputTokens = 0, outputTokens = 0, usd }]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <Count value={modelCalls ?? 0} />
            </td>
            <td>
              <Count value={inputTokens + outputTokens} />
            </td>
            <td>
              <Money usd={usd} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
