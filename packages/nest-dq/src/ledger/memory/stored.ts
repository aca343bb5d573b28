import type { Disk } from '../../disk/disk.js';
import { DqError, toError } from '../../errors.js';

/** Waits until what was changed is on disk. `DQ_LEDGER_DOWN`. */
export async function stored(disk: Disk): Promise<void> {
  try {
    await disk.saved();
  } catch (failure) {
    const { message } = toError(failure);
    throw new DqError('DQ_LEDGER_DOWN', message, { cause: failure, indeterminate: true });
  }
}
