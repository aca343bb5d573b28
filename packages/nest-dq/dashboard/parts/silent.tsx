import { SILENT_AFTER_MS } from '../../src/fleet/presence.js';
import { knownAt } from '../state/live.js';
import { t } from '../words/language.js';
import { time } from '../words/say.js';
import { Badge } from './badge.js';

/** Since when a process has been silent: it may have been killed. Nothing while it reports. */
export function Silent({ toldAt }: { readonly toldAt: string }) {
  const at = Date.parse(toldAt);
  if (knownAt.value - at <= SILENT_AFTER_MS) return null;
  return <Badge tone="warn">{t('process.silent', { time: time(at) })}</Badge>;
}
