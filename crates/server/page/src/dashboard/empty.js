// Shown where nothing has been imported: an operator gets the import command, with the store of
// this server.

import { commandFor } from '../command.js';
import { phrase } from '../phrases/dashboard.js';

export const nothingYet = (who) =>
  who?.role === 'operator' ? phrase('nothing_yet_import', commandFor('chandler import FILES…', who)) : phrase('nothing_yet');
