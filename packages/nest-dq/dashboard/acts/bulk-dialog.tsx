import { useEffect, useRef, useState } from 'preact/hooks';
import type { BulkProgressWire } from '../../src/dashboard/wire.js';
import { Dialog } from '../parts/dialog.js';
import { Failure } from '../parts/failure.js';
import { actOnMany, type BulkAct } from '../server/requests.js';
import { closeDialog, showDialog } from '../state/dialog.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';

/** `counting` what the act would change, `asking` whether to, `acting`, and `over`. */
type Step = 'counting' | 'asking' | 'acting' | 'over';

/** Counts first what an act on many would change, then asks, then does it and shows how far it is. */
export function askBulk(bulk: BulkAct, after: () => void): void {
  showDialog(<BulkDialog bulk={bulk} after={after} />);
}

function BulkDialog({ bulk, after }: { readonly bulk: BulkAct; readonly after: () => void }) {
  const [step, setStep] = useState<Step>('counting');
  const [progress, setProgress] = useState<BulkProgressWire>();
  const [error, setError] = useState<Error>();
  const stop = useRef<AbortController>(undefined);

  async function run(dryRun: boolean) {
    const control = new AbortController();
    stop.current = control;
    setStep(dryRun ? 'counting' : 'acting');
    setProgress(undefined);
    try {
      for await (const each of actOnMany(bulk, dryRun, control.signal)) setProgress(each);
      setStep(dryRun ? 'asking' : 'over');
    } catch (caught) {
      if (control.signal.aborted) return; // the dialog is closed
      setError(caught as Error);
      setStep('over');
    }
  }

  useEffect(() => {
    void run(true);
    return () => stop.current?.abort();
  }, []);

  const done = progress?.done ?? 0;
  const isBusy = step === 'counting' || step === 'acting';
  const close = () => {
    closeDialog();
    if (step === 'acting' || step === 'over') after();
  };
  return (
    <Dialog title={t(`act.${bulk.name}`)} onClose={() => step !== 'counting' && step !== 'asking' && after()}>
      <p role="status">{t(`bulk.${step}`, { done: count(done) })}</p>
      {progress && (step === 'acting' || step === 'over') && (
        <p class="faint">
          {t('bulk.rest', { skipped: count(progress.skipped), failed: count(progress.failed) })}
        </p>
      )}
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
      <div class="buttons">
        <button class="button" onClick={close}>
          {t(step === 'over' ? 'act.close' : step === 'acting' ? 'act.stop' : 'act.cancel')}
        </button>
        {step !== 'over' && (
          <button class="button bad" disabled={isBusy || done === 0} onClick={() => void run(false)}>
            {t('bulk.go', { done: count(done) })}
          </button>
        )}
      </div>
    </Dialog>
  );
}
