import { useEffect, useRef, useState } from 'preact/hooks';
import type { BulkExampleWire, BulkProgressWire } from '../../src/dashboard/wire.js';
import { Dialog } from '../parts/dialog.js';
import { Failure } from '../parts/failure.js';
import { actOnMany, type BulkAct } from '../server/requests.js';
import { closeDialog, showDialog } from '../state/dialog.js';
import { noteInterrupted, type Interrupted } from '../state/interrupted.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';
import { Examples } from './examples.js';
import { readMost, withMost } from './most.js';

/**
 * `counting` what the act would change, `asking` whether to, `acting`, and `over`. `stopped`: it can continue. `uncounted`:
 * counting failed, so nothing is changed.
 */
type Step = 'counting' | 'uncounted' | 'asking' | 'acting' | 'stopped' | 'over';

/**
 * Counts what a bulk act would change, asks for confirmation, then performs it and shows its progress. An interrupted act
 * continues where it stopped.
 */
export function askBulk(
  bulk: BulkAct,
  after: () => void,
  begun?: Pick<Interrupted, 'cursor' | 'done'>,
): void {
  showDialog(<BulkDialog bulk={bulk} after={after} begun={begun} />);
}

function BulkDialog({
  bulk,
  after,
  begun,
}: {
  readonly bulk: BulkAct;
  readonly after: () => void;
  readonly begun: Pick<Interrupted, 'cursor' | 'done'> | undefined;
}) {
  const [step, setStep] = useState<Step>('counting');
  const [progress, setProgress] = useState<BulkProgressWire<BulkExampleWire>>();
  const [error, setError] = useState<Error>();
  const stop = useRef<AbortController>(undefined);
  const cursor = useRef(begun?.cursor);
  const [mostText, setMostText] = useState('');
  /** Changed before the present run. */
  const [before, setBefore] = useState(begun?.done ?? 0);
  const done = progress?.done ?? 0;
  const most = readMost(mostText);
  const meant = Number.isNaN(most) ? done : Math.min(done, most ?? done);

  async function run(dryRun: boolean, earlier = before, limit?: number) {
    const control = new AbortController();
    stop.current = control;
    setStep(dryRun ? 'counting' : 'acting');
    setBefore(earlier);
    setProgress(undefined);
    setError(undefined);
    try {
      for await (const each of actOnMany(
        withMost(bulk, limit),
        { dryRun, cursor: cursor.current },
        control.signal,
      )) {
        setProgress(each);
        if (dryRun) continue;
        // If a page's result is lost, its number of changes is unknown, so an act with a limit can't continue.
        if (limit !== undefined) continue;
        cursor.current = each.cursor;
        noteInterrupted(
          each.cursor === undefined ? undefined : { bulk, cursor: each.cursor, done: earlier + each.done },
        );
      }
      setStep(dryRun ? 'asking' : cursor.current === undefined ? 'over' : 'stopped');
    } catch (caught) {
      if (!control.signal.aborted) setError(caught as Error);
      setStep(dryRun ? 'uncounted' : 'stopped');
    }
  }

  useEffect(() => {
    void run(true);
    return () => stop.current?.abort();
  }, []);

  const hasActed = step === 'acting' || step === 'stopped' || step === 'over';
  return (
    <Dialog title={t(`act.${bulk.name}`)} onClose={() => hasActed && after()}>
      <p role="status">{t(`bulk.${step}`, { done: count(hasActed ? before + done : done) })}</p>
      {progress && hasActed && (
        <p class="faint">
          {t('bulk.rest', { skipped: count(progress.skipped), failed: count(progress.failed) })}
        </p>
      )}
      {progress?.leaderless && (
        <p class="card warn">{t('kafka.leaderless', { partitions: progress.leaderless.join(', ') })}</p>
      )}
      {progress && !hasActed && <Examples examples={progress.examples} />}
      {progress && progress.failures.length > 0 && (
        <ul class="failures">
          {progress.failures.map(({ id, message }) => (
            <li key={id}>
              <code>{id}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {error && <Failure error={error} />}
      {step === 'asking' && done > 0 && !begun && 'filter' in bulk.body && (
        <label class="field">
          <span>{t('bulk.most')}</span>
          <input
            type="number"
            min={1}
            step={1}
            placeholder={count(done)}
            aria-invalid={Number.isNaN(most)}
            onInput={({ currentTarget }) =>
              setMostText(currentTarget.validity.badInput ? 'bad' : currentTarget.value)
            }
          />
        </label>
      )}
      <div class="buttons">
        {step === 'acting' ? (
          <button class="button" onClick={() => stop.current?.abort()}>
            {t('act.stop')}
          </button>
        ) : (
          <button
            class="button"
            onClick={() => {
              closeDialog();
              if (hasActed) after();
            }}
          >
            {t(hasActed ? 'act.close' : 'act.cancel')}
          </button>
        )}
        {(step === 'counting' || step === 'asking') && (
          <button
            class="button bad"
            disabled={step === 'counting' || done === 0 || Number.isNaN(most)}
            onClick={() => void run(false, before, most)}
          >
            {t(`bulk.${meant === 1 ? 'one' : 'go'}.${bulk.name}`, { done: count(meant) })}
          </button>
        )}
        {step === 'stopped' && most === undefined && (
          <button class="button bad" onClick={() => void run(false, before + done)}>
            {t('bulk.goOn')}
          </button>
        )}
      </div>
    </Dialog>
  );
}
