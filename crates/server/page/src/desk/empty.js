// What is said where nothing has been imported: an operator is told how to, with the store that this server has.

import { commandFor } from '../command.js';
import { phrase } from '../phrases/desk.js';

export const nothingYet = (who) =>
  who?.role === 'operator' ? phrase('nothing_yet_import', commandFor('chandler import FILES…', who)) : phrase('nothing_yet');
