import type { Reserved } from '../../beanstalk/connection.js';
import type { Lane } from './lane.js';

/** The user of lanes: one busy tube on a node (`ConsumerNode`), or all quiet ones (`SharedLanes`). */
export interface LanesUser {
  /** The tubes to reserve from: a set that never changes. Read whenever a lane asks. */
  readonly tubes: ReadonlySet<string>;
  /** A wait brought a copy, and this lane has it reserved now. `tube`: the copy's; undefined if the wait watched several. */
  awaited(lane: Lane, reserved: Reserved, tube: string | undefined): void;
  changed(change: LanesChange): void;
}

/**
 * `brought`: a wait is over and brought a copy; `awaited` came before. `nothing`: a wait is over and brought none.
 * `moved`: the move of a copy to another lane is over; that lane has it, or another process took it. `free`: a lane is
 * open, or holds nothing any more. `notOpened`: a lane could not be opened; `reopen` tells when to try again. `reopen`: lanes
 * were lost, and may be opened again.
 */
export type LanesChange = 'brought' | 'nothing' | 'moved' | 'free' | 'notOpened' | 'reopen';
