import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.js';
import { closeDialog, showDialog } from '../state/dialog.js';
import { now } from '../state/live.js';
import { t } from '../words/language.js';
import { count, time } from '../words/say.js';
import { askBulk } from './bulk-dialog.js';
import { readMost } from './most.js';
import { doAct } from './one.js';

/** Asks whether the overdue jobs are to run at once or gradually, and resumes the tube. */
export function askResume(tube: string, overdue: number, after: () => void): void {
  showDialog(<ResumeDialog tube={tube} overdue={overdue} after={after} />);
}

/** Time in which it has caught up by default. */
const MINUTES = 20;

function ResumeDialog({
  tube,
  overdue,
  after,
}: {
  readonly tube: string;
  readonly overdue: number;
  readonly after: () => void;
}) {
  const [how, setHow] = useState<'atOnce' | 'gradually'>('gradually');
  const [text, setText] = useState(String(Math.max(1, Math.ceil(overdue / MINUTES))));
  const perMinute = readMost(text);
  const isKnown = perMinute !== undefined && !Number.isNaN(perMinute);
  const end = isKnown ? now.value + (overdue / perMinute) * 60_000 : undefined;
  return (
    <Dialog title={t('resume.title', { tube })}>
      <p>{t('resume.text', { overdue: count(overdue) })}</p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (how === 'gradually' && isKnown)
            return askBulk([{ name: 'resumeGradually', body: { tube, perMinute } }], after);
          closeDialog();
          void doAct('resume', { tube }, after);
        }}
      >
        <label>
          <span>{t('resume.how')}</span>
          <select value={how} onChange={({ currentTarget }) => setHow(currentTarget.value as typeof how)}>
            <option value="gradually">{t('resume.gradually')}</option>
            <option value="atOnce">{t('resume.atOnce')}</option>
          </select>
        </label>
        {how === 'gradually' && (
          <label>
            <span>{t('resume.perMinute')}</span>
            <input
              type="number"
              min={1}
              step={1}
              value={text}
              aria-invalid={!isKnown}
              onInput={({ currentTarget }) =>
                setText(currentTarget.validity.badInput ? 'bad' : currentTarget.value)
              }
            />
          </label>
        )}
        <p class="faint" role="status">
          {how === 'gradually' && end !== undefined && t('resume.end', { time: time(end) })}
        </p>
        <div class="buttons">
          <button type="button" class="button" onClick={closeDialog}>
            {t('act.cancel')}
          </button>
          <button class="button main" disabled={how === 'gradually' && !isKnown}>
            {t(how === 'gradually' ? 'resume.go' : 'act.resume')}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
