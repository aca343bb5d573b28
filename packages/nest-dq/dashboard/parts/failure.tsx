import { RequestError } from '../server/requests.js';
import { t } from '../words/language.js';
import { fullTime, time } from '../words/say.js';
import { Stale } from './stale.js';

/** An error, with its code unless it has plain words; quietly, if what it concerns is still shown. */
export function Failure({ error }: { readonly error: Error }) {
  if (error instanceof Stale)
    return (
      <p class="as-of" role="status" title={fullTime(error.asOf)}>
        {t('stale.asOf', { time: time(error.asOf), why: reasonOf(error.reason) })}
      </p>
    );
  const code = codeOf(error);
  const reason = plainReason(code);
  return (
    <p class="failure" role="alert">
      {reason ?? (
        <>
          <b class="mono">{code}</b> {error.message}
        </>
      )}
    </p>
  );
}

/** A few words for causes that the status bar explains; otherwise code and message. */
function reasonOf(error: Error): string {
  const code = codeOf(error);
  return plainReason(code) ?? `${code}: ${error.message}`;
}

/** Plain words for the codes of an outage. */
export function plainReason(code: string): string | undefined {
  if (code === 'NO_ANSWER') return t('stale.connection');
  if (code === 'NODES_AWAY') return t('stale.nodes');
  return code === 'DQ_LEDGER_DOWN' ? t('stale.ledger') : undefined;
}

function codeOf(error: Error): string {
  return error instanceof RequestError ? error.code : error.name;
}
