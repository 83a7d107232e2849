/** Where the drawing of a graph is on the screen: moved by `x` and `y`, then `zoom` times as large. */

export interface Camera {
  readonly x: number
  readonly y: number
  readonly zoom: number
}

interface Size {
  readonly width: number
  readonly height: number
}

const MIN_ZOOM = 0.1
const MAX_ZOOM = 2
/** A small graph is not drawn larger than this to fill the screen. */
const MAX_FIT = 1.1
/** Share of the screen that stays empty around a drawing. */
const PADDING = 0.12

/** Below this zoom nobody can read a node: it shows its state by its colour alone. */
const FAR = 0.3

export function isFar(zoom: number): boolean {
  return zoom < FAR
}

function limited(zoom: number, max: number): number {
  return Math.min(max, Math.max(MIN_ZOOM, zoom))
}

/** The whole drawing in the middle of the screen. */
export function fitted(drawing: Size, screen: Size): Camera {
  const room = 1 + PADDING
  const zoom = limited(
    Math.min(screen.width / (drawing.width * room), screen.height / (drawing.height * room)),
    MAX_FIT,
  )
  return {
    x: (screen.width - drawing.width * zoom) / 2,
    y: (screen.height - drawing.height * zoom) / 2,
    zoom,
  }
}

/** Larger or smaller by a factor; the point of the screen keeps what it shows. */
export function zoomed(camera: Camera, factor: number, x: number, y: number): Camera {
  const zoom = limited(camera.zoom * factor, MAX_ZOOM)
  const scale = zoom / camera.zoom
  return { x: x - (x - camera.x) * scale, y: y - (y - camera.y) * scale, zoom }
}

export function moved(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x + dx, y: camera.y + dy }
}
