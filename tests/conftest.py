"""The page tests build the book, so they come last."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name == "test_book.py")
