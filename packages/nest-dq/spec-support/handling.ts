import { DEFAULT_HANDLER_SETTINGS } from '../src/consumer/run/handler-settings.js';
import { LEDGER_SETTINGS } from './producing.js';

/** Settings of a consumer on the nodes and the ledger of `Producing`. */
export const HANDLING = {
  ...LEDGER_SETTINGS,
  prefix: '',
  backupDelay: 2_000,
  shutdownTimeout: 1_000,
  handlers: DEFAULT_HANDLER_SETTINGS,
  consume: true,
  deadLetters: { maxAge: 30 * 86_400_000, maxCount: 10_000 },
};
