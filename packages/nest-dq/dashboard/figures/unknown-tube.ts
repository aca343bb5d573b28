import type { TubeWire } from '../../src/dashboard/wire.js';

/** Whether nobody seems to know the tube, so that its name may be wrong: as `DqControl.pause` judges it. */
export function isUnknownTube({ nodes, consumers, watching, copies, dead }: TubeWire): boolean {
  const isEmpty = nodes > 0 && copies !== undefined && Object.values(copies).every((count) => count === 0);
  return isEmpty && consumers === 0 && watching === 0 && dead === 0;
}
