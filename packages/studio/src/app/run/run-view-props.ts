/** What every view of a run receives. */
import type { Run } from "@superstep/client"
import type { RunView } from "@superstep/engine/protocol"
import type { RunHistory } from "./history.ts"
import type { Selection } from "./selection.ts"

export interface RunViewProps {
  /** The id of the run. */
  readonly run: string
  readonly history: RunHistory
  /** Changes with the events and the log of the history. */
  readonly version: number
  /** The run at the point, without tasks that have ended; while it is read, that of the point before. */
  readonly view: RunView
  /** The number of the last event that counts. */
  readonly point: number
  readonly selection: Selection | undefined
  readonly select: (selection: Selection | undefined) => void
}

export interface InspectorProps extends RunViewProps {
  readonly row: Run | undefined
  /** Nothing of the run has arrived yet. */
  readonly isLoading: boolean
  /** Questions are answered here; false: the view beside it has the form. */
  readonly hasForms: boolean
  readonly onClose: () => void
}
