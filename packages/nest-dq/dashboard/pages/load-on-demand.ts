import { reportFailure } from '../state/notice.js';
import { t } from '../words/language.js';

/** The code of the pages, and of dialogs, that are loaded on demand, all in one file. */
export const onDemandPages = () => import('./on-demand-pages.js');

/** Opens a dialog of these, or says that it can't be loaded. Never rejects. */
export async function askOnDemand(
  open: (loaded: Awaited<ReturnType<typeof onDemandPages>>) => void,
): Promise<void> {
  let loaded;
  try {
    loaded = await onDemandPages();
  } catch {
    // As for a page: the server is away, or has another version's files by now.
    return reportFailure(new Error(t('app.notLoaded')));
  }
  open(loaded);
}
